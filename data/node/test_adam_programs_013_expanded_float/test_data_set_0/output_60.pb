BV_new_H_column_secondJX$װ½
ָּ=נÜ/?"7?