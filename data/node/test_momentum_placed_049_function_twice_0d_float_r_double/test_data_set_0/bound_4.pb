B
X_new_twinJсЫ┴>ики>