B
X_new_keptJï€Ù¿¼lé?	‡Ù¾Â@•?