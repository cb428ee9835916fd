BX_new_sharedJ¨P¿NÓ
??Ø°¿qî?