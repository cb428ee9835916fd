"""Corpora of cases: the definition of a case, its files, the manifest, loading for a run, and released versions."""
