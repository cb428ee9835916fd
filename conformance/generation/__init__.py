"""From cases that generators define to a corpus on disk; the oracle fills in what must come out.

`models` and `values` are for whoever writes a generator.
"""
