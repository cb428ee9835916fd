B
V_now_keptJ e9Æ”£>Rã7Ø—§>i5Ã* >Vëb´?±©>