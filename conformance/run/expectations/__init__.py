"""The pass criterion, which decides whether a run passes, and expectations files.

An expectations file lists the known failures of one subject, each with its verdict and a reason.
"""
