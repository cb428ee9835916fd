BX_new_negativeJ¤Ôh
e‹À<