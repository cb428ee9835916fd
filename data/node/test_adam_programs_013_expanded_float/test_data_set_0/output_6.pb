B
X_row_readJd[?á9Ä?