BH1_new_twin_laterJ Æ¨K¿%ŒÀðŸ¹¬ŠÒÀä	rDñÁ
À©X·/À