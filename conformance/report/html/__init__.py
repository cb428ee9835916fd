"""The parts of the HTML report: its data, made from results alone, and its templates."""
