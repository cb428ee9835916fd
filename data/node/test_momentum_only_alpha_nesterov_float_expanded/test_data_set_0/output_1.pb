BV_newJz1¿œŠI¿=iP¿A
?