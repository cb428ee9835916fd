BH9_newJm1W
!|¦>"¹³c¢V²>