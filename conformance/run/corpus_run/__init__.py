"""Runs of the corpus by the command line and by pytest: selection, session, recorder, results file and terminal."""
