B
V_new_lateJ (Dc†;›>Uπλk5>/θ‹r’Ί{>~Θ_=™‹>