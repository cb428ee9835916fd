B
X_new_twinJQð°>