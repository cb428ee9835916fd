BV_new_twin_captured_ifJ
7‚"Ôp>