BH2_new_twin_atJ tŸ
êF¶>õ»`ÊšôŸ>lÎNe·Ù§>uPrº>