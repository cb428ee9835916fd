Bvalue V1_newJn?аУ
ОнБЭ>}БД>