BH1_new_negativeJ0g‡"6YÀ syšóyÀP×¯Cs–Àchö
¶ÍÀ‡´çœ€“÷¿H9ÞØ÷¿