B
H_negativeJ/ñÀ%Ï8À]şÎ¿t÷*À