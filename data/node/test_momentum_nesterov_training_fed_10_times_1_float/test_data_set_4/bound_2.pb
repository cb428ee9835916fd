BV_newJ,ft_Ми’>њќµkX•>aъb‡
К >