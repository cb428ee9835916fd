BV_new_float_double_R_double_2J Ô‡°pÃ¿-Œ¯µ“æ?¤ ¬i®ùï¿
ÉÚdî¿