B
X_new_noneJ¼hŽ¾ýê‚>R¿7²?z´õ¿h—Ù?