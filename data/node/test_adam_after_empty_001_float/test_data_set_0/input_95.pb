B
H2_scalarsJsT#@