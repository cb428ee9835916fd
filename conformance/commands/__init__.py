"""The verbs of the command line. A verb imports most modules only when it runs, so that `--help` is fast."""
