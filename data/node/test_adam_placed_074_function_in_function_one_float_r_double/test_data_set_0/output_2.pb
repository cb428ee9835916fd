B
G_negativeJu9¤>ðÃû?ŠŽõ½€f¿Èà$¿\Ô£¿