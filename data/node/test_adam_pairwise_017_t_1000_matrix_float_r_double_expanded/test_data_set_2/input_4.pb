BVJ)ÅÆ%
ÚÈS×BFroÉuD,Ék§¦H