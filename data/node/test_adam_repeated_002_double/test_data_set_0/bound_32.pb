BX3_new_X_lastJ ์e3จTิ<
‘Dํะ๏ส<๖ม๔F๎ง<aช’็บGฦ<