BX_newJ #¡ºš¶û<@†Ç
ñ*wA@ÏAÁ<3@vJûV«p6@