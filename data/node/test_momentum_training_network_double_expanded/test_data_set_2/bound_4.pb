BB2_newJ%X
ve¨Å<