B
V_nest_4_0J)g?îo#@%Û&@TRí?