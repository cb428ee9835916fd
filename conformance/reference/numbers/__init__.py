"""The number systems behind one interface, so that a graph is walked once for all of them.

`Native` computes with arrays of the tensors' own types and is the `reference` backend. `Enclosing` computes with
`Bounded` numbers and is the oracle: its values are the exact ones, its intervals enclose what a backend may answer.
`Declared` rounds every operator to the type of its tensors, as a model that no one fuses is read; or it rounds nothing.
`symbolic` writes the formula down instead of computing it.
"""
