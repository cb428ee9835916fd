B	V2_new_atJv¿ù
¿ú~S¿Ït¿