B
V_new_lateJz J¿Ò²s?„34¾a„?