B
X_new_sameJ÷nЙxKрс©