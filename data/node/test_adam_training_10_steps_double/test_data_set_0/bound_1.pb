BX_newJT'Ð'Œw>5Ü
oóu>”hÚ>{z>