BX2_new_twinJ ÔŸx¤Õ¿'JÈ:Ö?
D.5gð¿N´„¿ê?