B
X_new_twinJªKû/T±˜>