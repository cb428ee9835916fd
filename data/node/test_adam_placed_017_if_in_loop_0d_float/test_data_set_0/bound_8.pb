BV_new_twin_negative_if_loopJС
AЊмлЌ>С
AЊмлЌ>