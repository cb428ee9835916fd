BH1_new_twin_laterJ0шcJнѕ>–Ќня»>LеП,вЄ>9>xОUяё>&
,BF©>[ЮЪ
+*•>