BV_now_turnedJTX¾
8¾;,¿&„Õ>