B
X_new_sameJ9êt≈·~ò<