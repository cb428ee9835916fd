BX_newJu*6l¨õÃ>›Œ¥
k®>—¤D5IªÇ>