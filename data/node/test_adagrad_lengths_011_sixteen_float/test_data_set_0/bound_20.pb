BH5_newJ2€ss
­>bíÊÎ|Š“>