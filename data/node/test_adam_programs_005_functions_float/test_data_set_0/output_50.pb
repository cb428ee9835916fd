B
V_nest_0_0Jv?Gwo=€่อบ+	ฟ