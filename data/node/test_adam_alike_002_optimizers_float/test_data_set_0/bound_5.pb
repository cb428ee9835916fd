BX_new_adagradJ üÀ§Krp¨>O¨ÜpÙÂ¥>5þ
¢“ž>­™Ôb¨«>