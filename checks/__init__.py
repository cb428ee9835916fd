"""Checks that the suite itself is right. Nothing of this folder is installed; README.md describes the parts."""
