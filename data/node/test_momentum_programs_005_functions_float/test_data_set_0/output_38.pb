B
V_nest_2_0J)g?îo#@%Û&@TRí?