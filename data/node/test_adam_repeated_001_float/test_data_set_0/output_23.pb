BH2_new_H_secondJÎw¾?ôÿƒ?a3?
T@