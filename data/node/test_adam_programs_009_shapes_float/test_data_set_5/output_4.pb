BH_new_shapes_1J\G@O÷@åáÅ>ÿªD@}
I?