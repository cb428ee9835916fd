B
V_nest_2_0Jv?Gwo=€่อบ+	ฟ