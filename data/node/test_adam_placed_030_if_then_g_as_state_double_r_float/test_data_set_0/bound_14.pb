BX2_new_twin_same_ifJ }Æ#•èÎz>ýœ;…’‹>Ò
Ëu£â•>)®òÙqw>