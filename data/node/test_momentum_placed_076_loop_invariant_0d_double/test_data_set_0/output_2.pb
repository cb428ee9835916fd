B
V_new_sameJÖ‹Rt÷ø