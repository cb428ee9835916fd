B
H_new_sameJ6ЫвdћP@