B
H_new_sameJ¥5‚‰¦>