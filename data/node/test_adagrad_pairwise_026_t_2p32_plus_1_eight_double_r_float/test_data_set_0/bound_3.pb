BX4_newJ aó“–9S>„ó"³ 3Q>Zd‘hÕf:>É3-J.
U>