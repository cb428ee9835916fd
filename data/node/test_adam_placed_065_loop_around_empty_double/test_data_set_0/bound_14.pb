BV4_new_sameJ¶}j9
!>\ö¸o…&>