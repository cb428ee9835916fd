B
X_new_twinJ0ςMZ+E‡–>~zΕάJΓ•>ήΠg”>gί‰[,i>”ή9χκ^>Y £ύx•>