BX_new_turned_2J
&?PÇ„¾2•¾›O	?