B
H_now_readJ ù[æs.¬>rýúE†‘>x±¼ì×Î>'+e¬šØ—>