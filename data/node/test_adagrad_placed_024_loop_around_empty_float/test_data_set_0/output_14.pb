BH4_newJÒY
@©ø=A