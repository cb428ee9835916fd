B
H_new_twinJ¿ŠÞ¾9f—>