BX2_new_twin_laterJ03{JÖM¸>g}·C®žÈ>Ä
Y0Â>KGÒ“—ŸÈ>œ<´u-s´>©InLw»>