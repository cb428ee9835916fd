B
H_negativeJ³M…À