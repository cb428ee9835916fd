BX_newJ aB<¼>üa¾ýOV
;a¾o×±yöyd¾Íï3¼1Af¾