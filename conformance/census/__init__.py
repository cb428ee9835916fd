"""Every value of a type through a monotone operator: what is out of order, merged, and how far from the truth.

A census tells facts about a runtime on a processor. It is no part of the corpus, and judges nobody.
"""
