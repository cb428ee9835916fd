BX_new_count_TJ &n่เ•฿ฐ>งศฐLฌ>ýฅท๓m–ง>
จ๑aฐ>