B
X_double_2J RÁ‹¥4ð?˜y¶brð?tÐû,Æ%ä¿?—!C1ä?