BaBcDefghijklmnopJ\\»
fƒ¾’U?g‘¿