BX_new_twin_laterJ0ý
ÎÍ¦>G¹’D1>Ž!øl‰> ÅDý×¤>wúq‹f™>Qk%%xÊ¦>