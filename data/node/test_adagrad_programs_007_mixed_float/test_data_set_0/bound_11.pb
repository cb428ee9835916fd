BH_new_float_double_float_R_1J А2хна²>Uо_Hй─>q╩Ых3▄>╨A
R╝>