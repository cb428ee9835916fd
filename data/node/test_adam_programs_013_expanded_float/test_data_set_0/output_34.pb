BH_new_X_column_firstJ‚à
@k¯?Å_ç?0TÁ?