B
V_nest_8_1Jv?Gwo=€่อบ+	ฟ