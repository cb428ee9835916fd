BX2_new_captured_if_loopJ@Ûmø—¨>XíƒBnõ‚>Ž
‡¸´”…>!Xâ“t>Ûmø—¨>XíƒBnõ‚>Ž
‡¸´”…>!Xâ“t>