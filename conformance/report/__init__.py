"""Reports: one module per output format, each a pure function of results files."""
