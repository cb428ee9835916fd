"""What can vary in a case, as tables, and the builders that turn a choice into a model."""
