BV29_newJп%
q╔z>V?веOoН>