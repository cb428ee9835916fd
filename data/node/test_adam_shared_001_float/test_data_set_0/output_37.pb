B
V_new_XGVHJ†€|@B!@ã™€@äÍ@