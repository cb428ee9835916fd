BX_newJ †1Å¡E³=Ô
w=ôn·=³”Ë,Xe­=R«LN|»=