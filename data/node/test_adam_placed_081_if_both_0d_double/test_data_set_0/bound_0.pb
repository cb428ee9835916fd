B
X_new_sameJ&²éoÂQ_>