B
V_new_sameJ±çªË0»û<