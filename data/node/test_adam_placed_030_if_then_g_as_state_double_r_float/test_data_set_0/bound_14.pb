BX2_new_twin_same_ifJ ©³¦èÎz>
.¼”’‹>R?É£â•>O[dÚqw>