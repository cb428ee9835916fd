BX_newJ 	Þ5_LY?SI¬I•Z?¤+[‘#[?“dâ
X?