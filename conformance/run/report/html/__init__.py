"""The parts of the HTML report: the data computed from results files, and the templates."""
