BX1_new_twin_negative_ifJ ”Xµ}Î`–>÷Á½'*QŸ>GØ°”»o>Î£
“>