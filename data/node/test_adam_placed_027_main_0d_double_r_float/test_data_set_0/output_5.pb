B
V_negativeJ|ำ’ท้mู?