BX_new_momentum_otherJå§'@mÃ?%Ì¯?
.@