BV_new_H_scalar_firstJX$װ½
ָּ=נÜ/?"7?