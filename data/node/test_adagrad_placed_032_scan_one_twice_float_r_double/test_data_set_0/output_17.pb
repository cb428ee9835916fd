BG2_negativeJw;Œ>¸
>Û,Ã¿8tÌ>2mÚ¿M•=