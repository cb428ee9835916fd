BX_new_G_column_secondJ ;ÿgG*Ύ¥>…xδόVψ©>±±AΡ°>XF
Η[>