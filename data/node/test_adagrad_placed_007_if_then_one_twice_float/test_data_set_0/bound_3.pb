BX2_new_later_ifJ0ð•Í
t°>Oò¼ØBX³>½Y“>¦ÿFGÕ±>"Ñ¿€õ«>kQºª>