BH_new_X_column_secondJ‚à
@k¯?Å_ç?0TÁ?