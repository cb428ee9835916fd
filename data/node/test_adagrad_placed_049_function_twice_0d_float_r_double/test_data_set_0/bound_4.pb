B
X_new_twinJกฎ•B๒T>