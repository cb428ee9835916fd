BX3_newJ@kĞRO«>
¹F(§¾2^cnJ‘¾