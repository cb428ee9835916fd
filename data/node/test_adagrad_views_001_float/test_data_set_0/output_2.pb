BX_new_X_reversedJĞÄ¿p”=djÔ¾FQ
¿H‚w?ßÜ4¿