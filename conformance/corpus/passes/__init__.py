"""The pass `eliminate_nop_monotone_argmax`: reference implementation, expected results, analysis of models, hazards."""
