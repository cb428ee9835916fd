B
H_nest_4_0J·‰,@FL¬?HA@-a@