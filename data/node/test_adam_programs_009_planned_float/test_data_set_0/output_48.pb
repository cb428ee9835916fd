BX_new_decayed_rows_2J
&?PÇ„¾2•¾›O	?