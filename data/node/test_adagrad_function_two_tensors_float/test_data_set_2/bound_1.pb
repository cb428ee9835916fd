BX2_newJ c
„ž€>iáÎˆ‚ªp>¶w¤,w>Ódî_Q`>