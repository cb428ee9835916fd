B
X_new_sameJ0Э┐o4cL#>Н╬ф╙Ч>╪ ╔йcQ>╬,GсдпE>9кр \c>sН▄╒Q1U>