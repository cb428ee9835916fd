B
G_negativeJÐ(>˜®Ù?Ú~?o T?