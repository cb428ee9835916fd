BV1_new_twin_atJ˜Ÿ¾õ³>
ö%½ŒQ<