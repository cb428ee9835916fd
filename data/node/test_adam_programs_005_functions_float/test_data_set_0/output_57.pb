B
H_nest_2_0J·‰,@FL¬?HA@-a@