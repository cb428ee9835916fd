"""Whether the corpus notices mistakes: wrong implementations against its cases, and correct ones besides."""
