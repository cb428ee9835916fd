BH_newJ lN`R,b╟>f╦во╔C²>╩
Д▌
√>tЭ┴═`ы╝>