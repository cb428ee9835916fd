B
H_new_lateJÑ\®@|@ºK7@-[›?