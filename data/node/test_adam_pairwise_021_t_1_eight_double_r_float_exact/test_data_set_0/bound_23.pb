BH8_newJ8¯U{QæP:Wu€
ƒ”M:3äÌ°ØY:¹ì	 ÆU:›ÀÝ(Q:z…AYR:ók6°¦b2: