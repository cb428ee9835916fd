BV1_new_captured_if_loopJ`a…<d«M‰>IŒ^	]€>ÐÉ2øìmx>üE`ìíu>1X÷
½u>i·È"¼[Œ>a…<d«M‰>IŒ^	]€>ÐÉ2øìmx>üE`ìíu>1X÷
½u>i·È"¼[Œ>