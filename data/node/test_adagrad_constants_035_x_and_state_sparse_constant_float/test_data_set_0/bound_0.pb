BX_newJ ขั ซMv•>"ML
p>พือ9‘>J!rฏÿsp>