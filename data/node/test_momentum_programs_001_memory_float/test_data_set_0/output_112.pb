B
X_new_flatJï€Ù¿¼lé?	‡Ù¾Â@•?