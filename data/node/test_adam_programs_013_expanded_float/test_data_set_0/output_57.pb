BV_new_H_column_firstJX$װ½
ָּ=נÜ/?"7?