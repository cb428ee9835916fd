BX_newJ1
ë&3tu>n.Žx_•t> ï¹Pcw>