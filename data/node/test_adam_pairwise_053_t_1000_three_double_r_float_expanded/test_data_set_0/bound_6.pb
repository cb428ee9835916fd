BH1_newJ
ÄþNÔ[%?E{W·QÄ@?