B
X_new_sameJ~býëy¼<