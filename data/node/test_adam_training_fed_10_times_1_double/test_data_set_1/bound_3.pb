BH_newJñr
^N[»</jËˆ‹ Á<uD¿²ù„Ô<