B
H_negativeJÜ^…Àš]ÀŒ÷{¿kqÀ"9ÀÇˆZÀ