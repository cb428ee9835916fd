BX_newJ ¸âP
L:Ð?ˆ©jd’5ë¿:fÓsöY¼¿•÷ÐJä?