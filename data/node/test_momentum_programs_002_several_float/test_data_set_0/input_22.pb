B
X_infiniteJdkE>R{Â¾‡¤¡¾Þ;¨?