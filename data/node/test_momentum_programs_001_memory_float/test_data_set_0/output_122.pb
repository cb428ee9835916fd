B
X_new_castJï€Ù¿¼lé?	‡Ù¾Â@•?