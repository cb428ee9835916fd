BV_new_twin_if_loopJС
AЊмлЌ>С
AЊмлЌ>