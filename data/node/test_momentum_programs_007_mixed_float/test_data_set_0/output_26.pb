B#V_new_float_double_float_R_double_2J Ô‡°pÃ¿-Œ¯µ“æ?¤ ¬i®ùï¿
ÉÚdî¿