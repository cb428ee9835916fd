BX2_new_twin_laterJ0=…‰ü@é£}k%
@;{	ííÀgîwwÀñy+ÿ¿úCpÓæ
@