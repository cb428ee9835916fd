BX_new_whole_2J
&?PÇ„¾2•¾›O	?