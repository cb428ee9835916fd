BV2_new_negativeJ z
r«>Ç¤H¶†>‚ýà|“e>‹:¡[Ð>