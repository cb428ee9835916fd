BX7_newJ
ð’1Ë?