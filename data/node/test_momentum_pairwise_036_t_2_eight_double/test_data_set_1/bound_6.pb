BX7_newJWŽJ^
¹>