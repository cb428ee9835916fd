BH2_new_capturedJ¥Ê@¦'g?P@ãøè?)Ï
@8ûŠ@