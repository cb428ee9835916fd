BH4_new_twin_sameJf”%s~¦•<wm-þ
ãÒ<