B
X_second_HJÒ
„¾øyJ>»RÍ?©Æ?