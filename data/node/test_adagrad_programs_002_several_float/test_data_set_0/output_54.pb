BH_new_fixedJPÇ@|
@´)Ž@}|@