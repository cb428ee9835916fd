BX_new_scaled_2J
&?PÇ„¾2•¾›O	?