BG_rearrangedJ˜0?Ü…ä¿°Œ ¿
RÆ>ib?4
	>