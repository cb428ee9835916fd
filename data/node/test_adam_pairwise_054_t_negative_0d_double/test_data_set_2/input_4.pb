BVJ
År¶é.jø