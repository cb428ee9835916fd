BX18_newJыМи
L€?