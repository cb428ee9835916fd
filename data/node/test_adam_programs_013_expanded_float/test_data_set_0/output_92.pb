BV_new_H_scalar_secondJX$װ½
ָּ=נÜ/?"7?