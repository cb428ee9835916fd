BV_new_captured_ifJ
7‚"Ôp>