B
H_nest_0_0J·‰,@FL¬?HA@-a@