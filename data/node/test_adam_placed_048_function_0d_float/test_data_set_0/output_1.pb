B
V_new_sameJ¢/A¾