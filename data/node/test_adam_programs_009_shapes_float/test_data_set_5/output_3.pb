BV_new_shapes_2Jฑถ >ฌ€๖ฝUค=
ี;พ…ํพาTใ>