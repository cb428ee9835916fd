BX35_newJW╞▌PЗXЦ©рыXЙ
ют©