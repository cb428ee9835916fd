B
X_new_twinJÙ	’?