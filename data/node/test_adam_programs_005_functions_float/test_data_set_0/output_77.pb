B
V_nest_9_1Jv?Gwo=€่อบ+	ฟ