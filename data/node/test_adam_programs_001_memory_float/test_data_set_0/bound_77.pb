B
V_second_XJ ўП╛╫ъЖ>nnу¤Д>зк5abК>ч4▄вC&Г>