BX2_new_sameJ kКj	z╪t>╜Ю
та>└Ё╩ёМ╡Ь> № Ўьn>