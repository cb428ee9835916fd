B
X_new_XGVHJIŸC@ü’?≥G@XÎ“?