BX26_newJ-Î
lø¿k’^Cô?