BG1_rearrangedJ dæçpç? ±“bÊgç¿
ÜxDğ?è‘ñ[áÙİ?