B
X_new_twinJ¤Ôh
e‹À<