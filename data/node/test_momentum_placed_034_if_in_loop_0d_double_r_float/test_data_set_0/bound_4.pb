BX_new_twin_later_if_loopJ
Йлџвп<
Йлџвп<