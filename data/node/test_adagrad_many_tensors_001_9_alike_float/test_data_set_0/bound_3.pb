BX4_newJOv
þ²œ>XÃ)Ï»™>