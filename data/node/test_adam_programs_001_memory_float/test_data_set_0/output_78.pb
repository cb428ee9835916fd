B
H_second_XJd×,@HÕ–?Pk+@e@