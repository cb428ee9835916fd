BX1_new_capturedJ Κα'»|ρH>¬§s:R>ν
l4B>5σj²ƒU>