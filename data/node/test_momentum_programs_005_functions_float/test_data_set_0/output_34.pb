B
V_nest_0_0J)g?îo#@%Û&@TRí?