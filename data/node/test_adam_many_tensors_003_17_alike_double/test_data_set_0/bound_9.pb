BX10_newJpiRºn>Ì
þ+ÿs8>