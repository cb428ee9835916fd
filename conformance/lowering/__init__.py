"""Training optimizers rewritten into primitive operators, for runtimes that have no kernels of them."""
