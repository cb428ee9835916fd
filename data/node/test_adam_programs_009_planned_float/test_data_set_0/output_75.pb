BX_new_opposite_2J
&?PÇ„¾2•¾›O	?