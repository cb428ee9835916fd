BV1_new_negativeJ0N´á9>5˜49“a…>Íx$Iªƒ>Ó/Ø¬Y¹p>cg°_û
€>R"¥yôƒ>