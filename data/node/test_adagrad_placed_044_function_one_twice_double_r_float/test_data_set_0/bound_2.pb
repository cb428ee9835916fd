BX2_new_capturedJ0O Î#G†<)“„Ð^[³< 
)ä	g<Ô$Š@öá¦<O cåe®¬<ÃŒîç“<