BH1_newJ6­ë
c¿û>#ë!q6±M?