BH_newJ úØLT(SÆ<žÌjPÔ<¶d^ÓÙ¶<A¼
 ½<