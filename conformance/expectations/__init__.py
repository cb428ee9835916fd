"""Known non-passes of a subject, with reasons, in a TOML file that its owner keeps: read, applied and kept true."""
