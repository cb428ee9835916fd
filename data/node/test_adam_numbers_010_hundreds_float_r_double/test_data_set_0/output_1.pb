BV_newJeë=?8	ü¾
Ž§¾BUú>