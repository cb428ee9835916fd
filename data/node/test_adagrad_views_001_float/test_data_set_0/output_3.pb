BH_new_X_reversedJÚw@¬ÿ
?‹Å¹?ánf@•/ƒ@öÌ}@