B
X_new_sameJ,åTkŠ¹u>