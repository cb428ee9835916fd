BX6_newJO
<Pßa>Ï¾®jÂU>