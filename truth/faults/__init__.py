"""Planted faults: realistic mistakes of the authors of runtimes, as data and small functions."""

from . import arrays, elementwise, fusions, networks

FAULTS = {fault.name: fault for module in (elementwise, arrays, networks, fusions) for fault in module.FAULTS}
