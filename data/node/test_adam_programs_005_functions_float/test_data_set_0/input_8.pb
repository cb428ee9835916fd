B
G_negativeJฦไ?าดV=1?.;*>