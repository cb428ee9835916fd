BvvvvvvJ Xß~.=µã¿nY÷
ð?xg&ˆ£[ï¿bÖ¦á½ý?