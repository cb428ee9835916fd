BX_new_G_after_firstJ ŸÌ—Y7ˆœ>­Æ‘
V…v>}~iÕjp°>,)²Œ­>