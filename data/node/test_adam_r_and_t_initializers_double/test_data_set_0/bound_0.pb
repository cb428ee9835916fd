BX_newJ 6FzXaF\>ÀêËam>ÄõÑ_Ö
c>§“Aò8ºL>