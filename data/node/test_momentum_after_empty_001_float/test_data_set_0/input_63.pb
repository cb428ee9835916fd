B
X2_scalarsJ¸gG¾