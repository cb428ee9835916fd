"""The parts of the HTML report: what its page shows, computed from results files.

The templates are in `conformance/base/pages/templates/`.
"""
