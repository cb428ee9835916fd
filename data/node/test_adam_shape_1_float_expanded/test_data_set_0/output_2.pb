BH_newJÀ
@