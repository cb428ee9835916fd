B
G_now_readJ³/Ã¿â•¼¿şÏÅ?ƒc¿