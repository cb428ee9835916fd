B
G_negativeJ%â$?