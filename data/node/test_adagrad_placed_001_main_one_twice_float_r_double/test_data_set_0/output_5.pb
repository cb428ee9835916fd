BH2_new_laterJ¥JÁ¦'ç¿PÁãøhÀ)ÏŠÀ8û
Á