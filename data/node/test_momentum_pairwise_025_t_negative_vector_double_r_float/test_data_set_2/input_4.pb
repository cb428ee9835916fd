BVJ8BLֶ€üAְ7NXQ§ְׁT”מטײAFָ1ם¾%A¥Ùf;ִA°B¬x8
,Alz21ֹ׃ֱ