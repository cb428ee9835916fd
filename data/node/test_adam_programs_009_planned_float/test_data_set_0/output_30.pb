BX_new_decayed_2J
&?PÇ„¾2•¾›O	?