BX_new_turned_aloneJ &n่เ•฿ฐ>m>งฐ>ฃวM >
จ๑aฐ>