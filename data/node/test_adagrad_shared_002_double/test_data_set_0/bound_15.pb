BH_new_XGH_zeroJ WÚbh0:Ð<H8Ñae>ú<$(¡*ÕÙª<LoóéV
Ô<