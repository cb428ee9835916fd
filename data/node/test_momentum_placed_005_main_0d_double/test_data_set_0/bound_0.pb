BX_new_atJòŞ
ù2-ê<