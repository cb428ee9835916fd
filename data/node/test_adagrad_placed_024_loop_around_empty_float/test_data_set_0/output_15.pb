BH4_new_negativeJÒY
À©ø=Á