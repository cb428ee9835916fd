B
H_new_sameJûˆC@ïý^?f@o#@