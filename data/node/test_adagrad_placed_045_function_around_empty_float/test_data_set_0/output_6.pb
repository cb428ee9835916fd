B	X4_new_atJ่g๚>
ล่ฟ