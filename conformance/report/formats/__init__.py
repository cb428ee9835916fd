"""One module for each format that a report is written in: `render(runs)` gives its text."""
