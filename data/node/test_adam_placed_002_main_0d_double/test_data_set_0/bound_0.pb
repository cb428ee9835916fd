BX_newJ¤Ôh
e‹À<