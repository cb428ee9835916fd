"""HTML pages: one Jinja environment, one style sheet, the components of all pages, and JSON for scripts.

No other package renders a template.
"""
