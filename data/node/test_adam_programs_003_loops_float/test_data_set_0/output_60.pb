B
X_now_keptJß¾mÊ_¿ZP?¿+i?