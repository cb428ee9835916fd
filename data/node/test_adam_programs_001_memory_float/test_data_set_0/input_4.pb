B
X_negativeJæµ?»©ë¾gÄC¿