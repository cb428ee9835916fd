"""Whether a run holds: the rules it goes by, what of each result is a surprise, and the sentences that say why."""
