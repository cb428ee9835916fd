BH_newJ Я}Ра╓F@╜─ЇqNь
@аЦL╕
@GGГ тt@