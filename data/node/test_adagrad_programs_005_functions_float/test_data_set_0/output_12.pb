B
H_new_zeroJ´³@LÃ”??Ëš?KaŽ@