"""The pass `eliminate_nop_monotone_argmax`: our own implementation, what it must do with a model, and its hazards."""
