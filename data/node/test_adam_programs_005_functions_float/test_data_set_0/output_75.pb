B
H_nest_8_1J·‰,@FL¬?HA@-a@