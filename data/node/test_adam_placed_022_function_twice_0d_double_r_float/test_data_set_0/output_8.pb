B
V_new_twinJË"û Ÿð?