BV3_newJ
÷Ðf%ª“>