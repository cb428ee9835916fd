B
H_new_twinJкн X▌>