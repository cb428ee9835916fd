B
V_negativeJb·î¼¤üœ¾Z?c+Ä>]®t=ä=?