B
X_now_readJ .╜P¤О\╡>╜хРl¤╨>У1jwaнг>>б++];е>