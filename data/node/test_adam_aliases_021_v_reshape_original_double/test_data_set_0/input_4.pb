B	V_negatedJ d%
eÂgí?¨”bQ†Æ¿àe¾³ëöÔ?¸¥z(	Ğ?