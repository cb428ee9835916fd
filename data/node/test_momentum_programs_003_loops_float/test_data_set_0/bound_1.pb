BV_last_numberJ аwи÷$▄>╒╡m2тр╩>sШ░ч≤н│>?╓╛
%╒>