BX2_newJ®é+U—”›<Õ4XäW
µ<