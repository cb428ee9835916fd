BX_newJ°‹?y²j¿J
½;j•¿