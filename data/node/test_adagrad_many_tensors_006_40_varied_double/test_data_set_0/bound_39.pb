BX40_newJt
Us]³<á£°A:Ã<