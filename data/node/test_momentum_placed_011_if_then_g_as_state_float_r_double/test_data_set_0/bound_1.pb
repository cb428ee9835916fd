BX1_new_negative_ifJ 
лжїЄљ>")С#љ>mq®b >j~j№КЏ>