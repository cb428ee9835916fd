BX33_newJ
àZßL>