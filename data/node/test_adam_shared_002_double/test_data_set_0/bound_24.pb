BX_new_GHJ Ö5—¿õ¦3>
B'¦ÝS>¬Àp*q>Nƒx!U>