BV5_newJ(ü0îH°§?A`
°ÑHuAç‡ºÓ(A92bK7A”Fðpœ5Á