B
X_new_twinJü9µ¾