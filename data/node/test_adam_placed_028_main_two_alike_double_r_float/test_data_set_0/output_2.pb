BX2_new_capturedJ žàø	eö¿¡¤{M~¹ð¿¶)åy¨
ù?Xñj£¶Sû?