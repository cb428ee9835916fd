"""Subjects under test: how they are named, how they are loaded, and what of an exception says that they cannot."""
