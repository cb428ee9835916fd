B
H_new_zeroJ·‰,@FL¬?HA@-a@