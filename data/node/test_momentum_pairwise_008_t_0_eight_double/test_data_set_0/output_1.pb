BX2_newJGÆ+
+³¾‘7e.L"µ>