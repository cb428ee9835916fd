B
X_new_twinJ]üPÆçE›>