BV2_new_negativeJ z
r«>p¥Ÿ?ƒ>¶ÚhJß<d>‹:¡[Ð>