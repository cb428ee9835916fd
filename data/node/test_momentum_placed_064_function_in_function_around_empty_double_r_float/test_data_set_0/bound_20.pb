BX3_new_twin_sameJ‹
ËJÀg‰<3å‰VÃ<