B
H_negativeJ9QÜ¿=4Àn8&ÀÚJÀ