BV2_new_negativeJ0”zš
kŠ>GBDâ„>–kæU¤õx>ìš?xx>®±g>å«¸PÎ|>