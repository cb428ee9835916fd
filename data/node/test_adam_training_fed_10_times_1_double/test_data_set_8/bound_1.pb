BX_newJ¿á«x»–E>"Qà’˜·D>
5Æ´sG>