B
X_new_XGVHJ ãä^ÿeÇ>øn#X{™¿>ÑfÈ 3SÈ>O2qâÀ>