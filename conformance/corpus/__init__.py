"""The corpus on disk and what is in it: what a case is, the manifest that hashes every file, and cases read for a run.

Nothing here says what a subject is or how it is judged.
"""
