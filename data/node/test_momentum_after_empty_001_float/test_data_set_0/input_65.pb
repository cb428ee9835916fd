B
X4_scalarsJ7Þ™>>—°¿ˆr¾