BV_newJÿ@´
A´„>