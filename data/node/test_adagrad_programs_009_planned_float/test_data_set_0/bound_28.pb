BH_new_decayed_other_1J hM.¾m£>ŸÅ‡¹>ß†['º®>N
³JÔ2·>