BX4_new_twin_ifJ.ž¨õ
c¯<j²?Ò<