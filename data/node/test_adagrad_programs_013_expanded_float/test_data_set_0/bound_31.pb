BH_new_H_column_firstJ ¦PéÌ>§>VÔèõÊt–>c
¥@rÞÀ>¿íž˜²>