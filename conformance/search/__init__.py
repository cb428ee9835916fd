"""Beyond the corpus: draws from the declared dimensions, judged as cases are, and what they find made small."""
