BX_new_continued_modeJ üĞ<‘ˆ“±>Se­psxÁ>Kè…Ù
¨Å>ŞÖ>Á6· >