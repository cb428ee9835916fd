"""One case on one subject, to a verdict: of a backend by its outputs, of a graph optimizer by `checks` of its model."""
