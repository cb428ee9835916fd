"""Work on graphs: read, feed, hash, rename, inline, unroll, cut and expose. Other packages use these."""
