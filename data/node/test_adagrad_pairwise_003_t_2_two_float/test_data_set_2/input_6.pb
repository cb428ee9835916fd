BH1JÛsßSóQ–S1
T