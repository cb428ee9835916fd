BV3_new_againJ«¢Q§¬<Mý¢
º<