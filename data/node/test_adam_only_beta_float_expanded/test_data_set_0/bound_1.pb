BV_newJ ˜bTÏ‡>w—í,i&z>óVnü´x>·¯
t$`>