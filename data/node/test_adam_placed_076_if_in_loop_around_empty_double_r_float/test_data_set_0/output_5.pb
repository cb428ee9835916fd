BX3_new_later_if_loopJ oΗ
eρΏoια/‰@oΗ
eρΏoια/‰@