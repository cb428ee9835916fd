BX_newJ Øúçv²w?ÚAøx?KÎ7Áu?Ñ
û™µz?