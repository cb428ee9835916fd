B
X_now_readJß¾mÊ_¿ZP?¿+i?