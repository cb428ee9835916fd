Bvalue.H2_newJ 
+åN­>å5¨<BÊ”>ÙJàu©>ÚÐ öS‰>