B
X_now_keptJÁC øÚ‘≠ø}n¨æbéxæ