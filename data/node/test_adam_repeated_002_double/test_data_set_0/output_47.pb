BH3_new_G_lastJ ‰­kE
@
@N‘ó3@ïZ.£Lï?ÖÚ±À„}ã?