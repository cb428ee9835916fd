B
V_nest_4_0Jv?Gwo=€่อบ+	ฟ