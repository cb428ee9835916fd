BV1_newJ
dô7äK‚>