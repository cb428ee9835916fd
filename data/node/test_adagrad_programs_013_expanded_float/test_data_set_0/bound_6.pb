BX_new_G_row_firstJ ­ґ{ї
x>ДврҐn>2Ы‡й#$Ў>pІХй,„>