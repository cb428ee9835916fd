BH_new_if_loopJ
¬L@
¬L@