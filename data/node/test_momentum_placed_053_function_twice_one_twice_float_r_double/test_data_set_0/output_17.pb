BX2_new_againJÎìÒ>^Ù‹?ó
@Âž?uÂD¿p¤?