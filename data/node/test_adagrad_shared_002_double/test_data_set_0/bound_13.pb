B	H_new_XGHJ WÚbh0:Ð<H8Ñae>ú<$(¡*ÕÙª<LoóéV
Ô<