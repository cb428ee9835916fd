BX_new_XG_zeroJ ╔ЩuA≥I⌠>З▀²╧Ю<░>U≥╔
=хё>
окl╔>