B
H_second_HJpµ?Ϊd―?άξ @½»?