B
G_2_turnedJ)wJ╛К║╚┐Л▓>█рг>