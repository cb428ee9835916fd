B
G_negativeJÖ4¿9x™>©j÷>•Ÿí?