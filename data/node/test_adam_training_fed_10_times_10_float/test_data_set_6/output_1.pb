BX_newJÇh?O

?¶^›¿