B
G_negativeJŸA?