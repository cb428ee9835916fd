B
V_second_VJŸ†O>$i›>¡›?KRž¾