"""Work cut into pieces that are functions of their number, done by processes of this machine or workers of Dask's.

A piece counts once, however often it is done; what is done is on disk, and is not done again (docs/campaigns.md).
"""
