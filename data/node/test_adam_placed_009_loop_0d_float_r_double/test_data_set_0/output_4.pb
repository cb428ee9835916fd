B
H_negativeJïKxÀ