"""What the cases of Adam, Momentum and Adagrad have in common: operators as data, settings, graphs around them."""
