BV13_newJ
¾8S?