BX_newJ ËùDæá¿ÂÄÓ–BFC´¾=Xh)
CÏòrihºóB