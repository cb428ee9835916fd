BH1_new_capturedJ 5!
ê“§>§	)§ñ¢>¬›þE„b€>QˆëY_iŸ>