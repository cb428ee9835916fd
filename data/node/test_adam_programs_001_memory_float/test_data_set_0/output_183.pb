B
H_new_castJûˆC@ïý^?f@o#@