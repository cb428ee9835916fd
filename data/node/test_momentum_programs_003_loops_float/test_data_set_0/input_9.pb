B
X_negativeJ½Š$¿ž<¨»æAß¿ë|½