B
X_new_twinJÄW?o¹µ¾9,¾¬™¾~dî=ãµ-?