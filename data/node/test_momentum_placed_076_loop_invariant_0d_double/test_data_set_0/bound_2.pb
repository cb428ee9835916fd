B
V_new_sameJ§À@@¹<