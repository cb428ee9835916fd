BX_new_G_scalar_secondJ HзиETе>(Vц
&Fй>,3*╢┘М▒>г_оD√Й>