"""Independent test of the verbs `audit` and `blame` with planted faults, correct variants and random chains."""
