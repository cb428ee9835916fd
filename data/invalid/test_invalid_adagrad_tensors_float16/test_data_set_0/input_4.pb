
BHJàAá>d9a@