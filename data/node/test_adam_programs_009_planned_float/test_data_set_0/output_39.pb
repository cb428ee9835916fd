BX_new_decayed_other_2J
&?PÇ„¾2•¾›O	?