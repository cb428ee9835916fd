B	G_2x3_rowJØg>Œ
?rJ=