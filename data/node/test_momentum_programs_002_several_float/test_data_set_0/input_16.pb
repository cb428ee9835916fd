B
X_beside_VJ«€Ž?Rë?/Ò¿%
¸>