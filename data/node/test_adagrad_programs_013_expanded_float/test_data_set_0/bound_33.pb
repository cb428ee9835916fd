BH_new_H_column_secondJ ¦PéÌ>§>VÔèõÊt–>c
¥@rÞÀ>¿íž˜²>