BX_new_limited_2J
&?PÇ„¾2•¾›O	?