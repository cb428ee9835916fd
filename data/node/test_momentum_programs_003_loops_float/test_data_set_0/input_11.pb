B
V_negativeJ/ец>╛шG=Ьyа╛"D&┐