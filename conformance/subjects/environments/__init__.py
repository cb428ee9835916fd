"""Environments: virtual environments, each with one release of a runtime or graph optimizer.

The verb `env create` creates them; a run only uses them.

`requirements` lists the packages of a release, `create` installs them, and `registry` finds the environments and the
Python interpreter of each subject.
"""
