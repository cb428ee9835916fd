"""Random chains and blocks of nodes from a seed."""
