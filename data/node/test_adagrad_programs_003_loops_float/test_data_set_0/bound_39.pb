B
X_now_keptJ Zg¶ø¼Ç’>Èm'µ>R#wG¨Ü‡>“KŸû"¿±>