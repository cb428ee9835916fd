BH1_new_twin_negativeJ0ля─
ё>[Щ?╟O%ё>_╝Ы0÷>wГrФё> "÷ Л▐>B╠(I'ё>