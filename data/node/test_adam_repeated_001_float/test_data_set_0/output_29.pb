BH2_new_state_secondJÎw¾?ôÿƒ?a3?
T@