B
G_beside_HJ¤ì¡¾şKß¾àUë?<;Z=