BH1_new_laterJ0?BKe.ø<Yqq…FËæ<s!òQ
È<c4úòò<¾¼ƒýú<ub¥e"§Ð<