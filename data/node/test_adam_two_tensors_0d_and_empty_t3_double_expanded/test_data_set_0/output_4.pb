BH1_newJCÞÏž:;
@