B
vvvvvvvvvvJÎ*>]P?8`v¿¹e¿