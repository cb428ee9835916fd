BV_newJF³ÌT—vö<q´ÿ
dÜú<‹}s	=