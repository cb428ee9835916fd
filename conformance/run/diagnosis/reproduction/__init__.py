"""Write a folder that reproduces a failing case, for the developers of the subject.

The folder contains the model, the data, a script that does not need this suite, and the text of an issue.
"""
