BX1_new_nesterov_atJX“ýbÌ4Ÿ£>“ýbÌ4Ÿ£>!DñP–>üusƒ_¥>8ŒJvI´¼>
HF¾a#¿>®z+h;×¶>ÏiÅrxG¾>ÎFº>¬u†?·¶>fY@­À½>