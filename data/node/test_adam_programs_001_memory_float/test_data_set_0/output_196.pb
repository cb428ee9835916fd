B
V_new_lateJól)¿‹¿&ðÛ=¶,>