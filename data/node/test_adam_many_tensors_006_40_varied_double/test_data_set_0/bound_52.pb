BV13_newJc
t.GÀ<