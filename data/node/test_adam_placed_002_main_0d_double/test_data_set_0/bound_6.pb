B
X_new_twinJ«8‡ëÊ§<