BX_newJ фAеEњO>
CFЇH@>лы’l)o3><W4©¶дe>