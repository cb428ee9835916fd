BH_new_XG_zeroJ ÷ji»¨ˆÓ<±#çS¯<g“ˆZÁÈ<
ñßoÖ<