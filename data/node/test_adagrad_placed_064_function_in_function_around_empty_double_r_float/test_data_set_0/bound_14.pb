BH4_new_sameJf”%s~¦•<wm-þ
ãÒ<