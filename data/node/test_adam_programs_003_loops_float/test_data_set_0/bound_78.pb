BH_before_kept_readJ 
0Î²$¦>ç™z•Ä—>õî˜Ç>:ò”`×—>