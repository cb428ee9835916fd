BX3_new_later_ifJvÁbV5
Àô};›D]İ?