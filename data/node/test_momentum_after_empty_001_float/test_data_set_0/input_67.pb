B
G2_scalarsJ`N‰¿