B
H_nest_9_1J·‰,@FL¬?HA@-a@