BV3_new_laterJР╣сДж>╬y5k
░м>