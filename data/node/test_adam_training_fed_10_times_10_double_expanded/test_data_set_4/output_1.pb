BX_newJØMv09·ç?
,G´·žÒ?ƒæ„J{Rñ¿