BH_newJoJ
4<