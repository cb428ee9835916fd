BX5_newJ(Sk²æë2A%¦Vµ·<(A<
B}
ÁÌMê‹‡;A·>+…Nê4A