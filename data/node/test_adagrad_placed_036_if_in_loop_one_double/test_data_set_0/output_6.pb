BH_new_twin_captured_if_loopJ`Ú,oa_@¢zO)Q@jYËÒ:
@mã÷ ü?cï°@)dZëÎû?Ú,oa_@¢zO)Q@jYËÒ:
@mã÷ ü?cï°@)dZëÎû?