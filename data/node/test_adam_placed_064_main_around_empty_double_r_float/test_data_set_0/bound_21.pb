BX3_new_twin_laterJì¸iH­<
õäoÏ<