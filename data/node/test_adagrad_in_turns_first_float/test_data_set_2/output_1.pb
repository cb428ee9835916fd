BH_newJr€
A`“@ZTv@›	j@