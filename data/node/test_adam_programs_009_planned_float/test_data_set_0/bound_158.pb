BX_new_begun_all_readJ &n่เ•฿ฐ>งศฐLฌ>ýฅท๓m–ง>
จ๑aฐ>