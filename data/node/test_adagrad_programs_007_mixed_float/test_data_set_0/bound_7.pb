BH_new_double_float_R_2J А2хна²>Uо_Hй─>q╩Ых3▄>╨A
R╝>