BH_newJ8
nЩnGк+Ao╞&╖тw(AhэЁ╩ЇA-mpR╝╧3AQ=ЎF╤·@@BкAалZ╡*A