BH2_newJT5Пn▐_╜>ью
a&с╛>w5/ZN╡>