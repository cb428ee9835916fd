B
G_beside_XJ*Ë;½À¿lÍÖ?‚Ú$?