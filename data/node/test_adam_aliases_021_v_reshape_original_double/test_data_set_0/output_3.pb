BV_other_negativeJ d%
eÂgí?¨”bQ†Æ¿àe¾³ëöÔ?¸¥z(	Ğ?