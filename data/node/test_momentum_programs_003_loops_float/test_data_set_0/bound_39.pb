B
X_now_keptJ .╜P¤О\╡>╜хРl¤╨>У1jwaнг>>б++];е>