BH_newJæËaG¡IÃ>›
B87²>¢°flÁ>