B
G_negativeJ˜1à?!kX¿D{™½k„¿