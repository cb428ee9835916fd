BX_new_twin_negativeJ¤Ôh
e‹À<