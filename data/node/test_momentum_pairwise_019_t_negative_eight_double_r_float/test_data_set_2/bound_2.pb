BX3_newJS v:K<þ‹¤6ÐÉ×<(§
PðY=