BH_W1_newJ@È0•FÃHè=bYqèY>å‰ie•ôC>–ì„+O¦>¨
z‹“>BÊ,bÚ=^¦¨ncG>¢u6’nÆ>