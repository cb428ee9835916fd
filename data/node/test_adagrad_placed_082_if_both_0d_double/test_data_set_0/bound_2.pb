B
H_new_sameJíwÿ‰ß∆’<