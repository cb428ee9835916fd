B
V_now_keptJЯuB?J№>ан¤ї8ўр>