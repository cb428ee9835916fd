BH_new_XGVH_zeroJuJA
pê@ÒQAbé@