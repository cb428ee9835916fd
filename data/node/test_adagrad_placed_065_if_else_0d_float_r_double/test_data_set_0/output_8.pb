B
H_negativeJ\]À