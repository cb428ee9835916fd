BH2_newJ º¶X«#±>ìw¾‰Gv©>orE
R¯>dó{àEí·>