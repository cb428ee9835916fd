BV_new_laterJ0’8ÓÖÃ¢•>Úƒ¤
Ë± >CÉ
òja–>g™˜	³Qt>	i¢iô§>»[œÅ©×ƒ>