BX_new_partedJ 6aΈO
¬>Ηd:{›ΛΎ>+ΆΡ—ΐ>[ίχFΥΚ>