B
X_new_sameJ•şIQÕ¹Ê¿