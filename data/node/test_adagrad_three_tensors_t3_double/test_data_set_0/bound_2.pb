BX3_newJ
Õ¿‚¶&5>