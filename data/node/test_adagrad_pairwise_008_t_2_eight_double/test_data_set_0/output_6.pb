BX7_newJ
1ÑÉ—™¹¿