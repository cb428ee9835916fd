"""Runs of the corpus inside pytest: selection, items, session, recorder, results file and terminal output."""
