B
V_now_readJ e9Æ”£>Rã7Ø—§>i5Ã* >Vëb´?±©>