"""Judge a backend or a graph optimizer on one case, and collect the evidence for the verdict."""
