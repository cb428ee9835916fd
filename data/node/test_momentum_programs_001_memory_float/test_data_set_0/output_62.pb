B
X_new_sameJï€Ù¿¼lé?	‡Ù¾Â@•?