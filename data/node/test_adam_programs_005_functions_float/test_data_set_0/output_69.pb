B
H_nest_6_0J·‰,@FL¬?HA@-a@