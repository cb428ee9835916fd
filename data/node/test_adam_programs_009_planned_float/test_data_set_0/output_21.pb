BX_new_summed_2J
&?PÇ„¾2•¾›O	?