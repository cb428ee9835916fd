BV1_new_twin_laterJ 1υο©Εσ>’β7D™άΆ>H7ύÿ[π±>
fφ»q>