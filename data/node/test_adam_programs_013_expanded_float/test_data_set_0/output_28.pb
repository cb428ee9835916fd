BV_new_H_row_secondJX$װ½
ָּ=נÜ/?"7?