BX1_new_twin_laterJ0¸ê5×¬@=YÚâ	@¤K4c:¬À¡±ƒuŞiÀ„}V*fÿ¿”?Gù¥
@