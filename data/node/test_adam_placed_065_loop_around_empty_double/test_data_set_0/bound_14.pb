BV4_new_sameJ³bx¢9
!>kxéo…&>