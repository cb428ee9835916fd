B
H_scalar_1Jðm¶?