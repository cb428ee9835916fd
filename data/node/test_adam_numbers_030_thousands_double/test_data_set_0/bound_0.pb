BX_newJ 
­umïlBÉ×ïmhhZBÿ	ä\ojBh¯æ¾UrB