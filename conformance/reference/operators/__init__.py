"""Each operator once: the training optimizers as on their pages, and the operators that stand around them."""
