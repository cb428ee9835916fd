BX3_newJ˜Y’¾
2ã¿