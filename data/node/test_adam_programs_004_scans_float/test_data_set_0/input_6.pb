B
X_negativeJ½K7?˜Ò¿…•Æ¿S]n¿