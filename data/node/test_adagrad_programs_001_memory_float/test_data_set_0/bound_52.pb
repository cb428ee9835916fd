B
X_second_XJ xË Œy4 >ƒâ©N¶²š>ž„ç¸±…>1pnBƒü>