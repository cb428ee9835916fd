BH3_new_twin_againJi×ôÎU
@/şİól@