B
G_negativeJBË¾nğØ?L|J?·¿