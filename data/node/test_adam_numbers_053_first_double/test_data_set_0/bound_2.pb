BH_newJ –ÿçpn
X<ÚŒ³g²Y<L´Óö[E<ÖxB¯Óz5<