"""Two ways to compute one model differ: which pass and which nodes cause the difference, and who is wrong."""
