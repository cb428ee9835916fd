B
H_now_keptJ ù[æs.¬>rýúE†‘>x±¼ì×Î>'+e¬šØ—>