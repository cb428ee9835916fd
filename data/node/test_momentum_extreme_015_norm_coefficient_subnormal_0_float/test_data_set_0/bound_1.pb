BV_newJ 
âbì_p>YÁžC.g>@p·w¢>8Ð‚¤ >