BV1_new_twin_laterJ˜Ÿ?õ³‡¾
ö¥=ŒQ”¼