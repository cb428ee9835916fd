BX1J$`
iZvê?