"""Planted faults: realistic mistakes of the authors of runtimes, as data and small functions."""

from . import arrays, elementwise, fusions, networks, specialized

MODULES = (elementwise, arrays, networks, specialized, fusions)

FAULTS = {fault.name: fault for module in MODULES for fault in module.FAULTS}
