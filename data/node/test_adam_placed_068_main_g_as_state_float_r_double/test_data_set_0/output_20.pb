BH1_new_twin_atJ	¼?#ֹ
?*פע?׳µ>