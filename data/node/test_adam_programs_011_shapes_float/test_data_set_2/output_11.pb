BH_lastJ(
À>