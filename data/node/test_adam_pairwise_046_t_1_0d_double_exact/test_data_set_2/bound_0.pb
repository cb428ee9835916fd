BX_newJdç­
Ò<