BV_new_double_float_R_double_1J Ô‡°pÃ¿-Œ¯µ“æ?¤ ¬i®ùï¿
ÉÚdî¿