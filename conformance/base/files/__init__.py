"""Files: reading of regular files, atomic writing, temporary directories, and deferred signals."""
