BV1_new_againJ sС
=Џѕq>ЏА°Ьg>bБ«]>Я
рвкВ>