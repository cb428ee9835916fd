"""Subjects under test: their names on the command line, their import, and their failures."""
