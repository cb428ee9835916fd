BX4_new_twin_negative_ifJ.ž¨õ
c¯<j²?Ò<