B
X_new_twinJÓ«‰Ç·ôØ?