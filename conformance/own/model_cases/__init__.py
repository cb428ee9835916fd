"""Cases of the nodes of a user's models: each distinct node, and each region that runtimes fuse, on hard values."""
