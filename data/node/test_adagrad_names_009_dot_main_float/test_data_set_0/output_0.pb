Bvalue.X_newJÖ^Ô?mµZ?ÓV
¿žÉ¿