B
H_new_keptJûˆC@ïý^?f@o#@