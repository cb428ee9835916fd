B
G_negativeJéØ?òHù¾˜;Ù>‹mç?