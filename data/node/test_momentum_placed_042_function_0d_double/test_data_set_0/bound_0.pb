B
V_new_sameJιδ¬όσΉ<