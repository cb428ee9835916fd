BV4_newJ 
в:СZЮ©dc≤oюж©(JыXду©▌.uV▀©