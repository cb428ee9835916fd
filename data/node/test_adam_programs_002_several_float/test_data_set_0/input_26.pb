B
V_beside_HJ¹Ê¾¶L ¿(A»>#'>