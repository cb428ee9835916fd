BX1_new_laterJ vøT¬>€žYÁzŒ>Y
G‡ÔC¡>èû­¯¹¨>