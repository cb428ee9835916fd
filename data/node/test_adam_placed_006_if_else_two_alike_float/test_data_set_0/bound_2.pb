BX2_new_capturedJ n	ποC2Ά>.j0mYF’>£Ò"e
ͺΆ>-dGΪξ₯Ί>