"""What can vary in a case, declared once: factors, rows that cover them, and the builders of models."""
