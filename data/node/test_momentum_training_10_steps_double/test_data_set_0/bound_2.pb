BV_newJt¤
6á<L	A_â<BfA´¤-à<