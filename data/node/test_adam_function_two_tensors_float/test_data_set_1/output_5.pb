BH2_newJn
ç?C<“?Uo@*Z@