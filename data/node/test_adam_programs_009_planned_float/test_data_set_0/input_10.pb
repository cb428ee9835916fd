B
X_negativeJ¹‘‚¿¬N¿İ?–Ô¿