"""Census: exhaustive measurement of monotone operators and ArgMax for all values of an element type.

A backend computes the operator for all values of the type in ascending order. The census counts neighbouring values
with results in the wrong order or with equal results, and measures the distance of each result from the correctly
rounded value. The figures describe a runtime on a processor; they are not verdicts.
"""
