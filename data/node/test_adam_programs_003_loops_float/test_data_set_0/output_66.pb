B
V_now_readJЯuB?J№>ан¤ї8ўр>