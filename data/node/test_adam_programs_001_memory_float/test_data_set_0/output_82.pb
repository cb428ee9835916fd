B
X_second_GJzu‹¾™a>T=á?~È?