"""The report formats, one module each; its function `render(runs)` yields the parts of the report text."""
