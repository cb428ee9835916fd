BX_new_grown_2J
&?PÇ„¾2•¾›O	?