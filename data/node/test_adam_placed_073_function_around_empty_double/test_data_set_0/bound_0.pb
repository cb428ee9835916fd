BX1_new_sameJ ¹3C‹½>óXãÑo‹W>‘ùhjÆ…@>Öåƒ
²€/>