BX1_new_same_ifJ0
êDÖ=úš>ä_Q08f >6S‰±Dm„>ŽxÇ >R•xüÈK•><Ó6ì7ã’>