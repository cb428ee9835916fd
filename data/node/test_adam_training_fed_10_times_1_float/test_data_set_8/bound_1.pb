BX_newJКCнqж >ПE8д
▀>:┤|gясw>