BX2_newJ ý2œF
P>7ò¼æ1aP>nÛÚÉPW><„NRZ>