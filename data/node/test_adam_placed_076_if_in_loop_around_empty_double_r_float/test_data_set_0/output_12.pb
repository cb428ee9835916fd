BH3_new_if_loopJ 2ИНа·?Дyn
р@2ИНа·?Дyn
р@