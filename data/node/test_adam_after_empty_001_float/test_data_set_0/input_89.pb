B
G4_scalarsJ¥Γ?υα?¤΄Ώ