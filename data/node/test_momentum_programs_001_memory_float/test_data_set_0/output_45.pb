B
V_second_RJ`TÜปIาหฟฑ้ม?ม^พ