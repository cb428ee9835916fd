BX_newJ ¢.¹
k!–¿GÀI½‰æ?+BVÝvHç?¬ü\Ñk§ò?