B
V_infiniteJСт┐Sлу╛C3┐lзр>