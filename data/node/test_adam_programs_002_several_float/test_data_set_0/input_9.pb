B
G_scalar_1JÛ?›?