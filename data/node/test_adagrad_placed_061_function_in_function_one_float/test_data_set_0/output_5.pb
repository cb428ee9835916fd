B
H_new_twinJ¢S@@+ m@§ÎŒ@|M±@î‰u@