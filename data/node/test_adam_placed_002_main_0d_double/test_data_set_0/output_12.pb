B
V_negativeJ sEØd£¿