"""One failing case to take away: the model, the data, a script without this suite, and the text of an issue."""
