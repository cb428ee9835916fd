B
X_new_twinJEM@