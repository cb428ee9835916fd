BX_new_after_2J
&?PÇ„¾2•¾›O	?