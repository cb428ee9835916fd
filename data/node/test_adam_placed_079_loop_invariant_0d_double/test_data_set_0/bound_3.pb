BV_new_laterJj!
¸dĞ<