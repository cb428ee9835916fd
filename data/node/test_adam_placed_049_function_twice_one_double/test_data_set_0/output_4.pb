BX_new_againJ0'½T®¸ñ?ù;£	Û¿	Dòláó?;ÙÅEBÕ?D«ÅP¼
Ú¿‡WˆN²eå¿