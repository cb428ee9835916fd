BX1_new_twin_laterJ0мY”;ЎTS>|@Yb>ќЙ—фi8f>—чS`ои@>8r[WЖ^>Nы=Ўџ
A>