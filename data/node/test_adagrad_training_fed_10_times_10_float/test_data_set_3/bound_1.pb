BX_newJ
V╨WPё>
#тл╒>a╓▒bбP╠>