BH1_negative_ifJıÀâVõ¾k\
ÀÀõŒ¿‹^#ÀÈsÀ