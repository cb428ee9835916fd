B
X_new_zeroJ÷óŠ?²n­>¥`ñ¿Ü|ä?