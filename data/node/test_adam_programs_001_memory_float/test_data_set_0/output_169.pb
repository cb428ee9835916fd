B
H_new_flatJûˆC@ïý^?f@o#@