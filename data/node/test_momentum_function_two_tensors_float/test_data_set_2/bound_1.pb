BX2_newJ •<¦õwW>EŽ?¿í…>H/›˜kÛ“>
Xèad¾>