B
V_nest_6_0Jv?Gwo=€่อบ+	ฟ