BV5_new_matricesJ 4sцGv╛▄>┐©1K>ю├>▓⌡й
┐>~⌡²бн─>