"""One module per verb of the command line; each imports what it needs only when it runs."""
