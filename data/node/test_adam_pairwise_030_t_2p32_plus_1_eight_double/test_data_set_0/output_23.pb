BH8_newJ8‰¿š fBÊ‰º(nBYr>XB±µˆˆÒ_B.Õ5½5BæWå"‡ôxBü¾
·v#B