BX2_newJ.
<ØUŒ¤>