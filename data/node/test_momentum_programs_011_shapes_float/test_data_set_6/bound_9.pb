BV_everyJ —~
Вѕ“>:Rl-MЗќ>uишmFZ¦>DпRїФ.­>