B
X_now_readJ Zg¶ø¼Ç’>Èm'µ>R#wG¨Ü‡>“KŸû"¿±>