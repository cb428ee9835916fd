B
V_nest_6_0J)g?îo#@%Û&@TRí?