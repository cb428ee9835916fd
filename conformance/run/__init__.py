"""A run inside pytest: what is selected, the items, the session that runs and records them, and the terminal."""
