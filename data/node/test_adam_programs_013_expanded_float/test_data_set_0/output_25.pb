BV_new_H_row_firstJX$װ½
ָּ=נÜ/?"7?