B
V_new_twinJqø`BjŽ>