BX_new_reversedJ ÿiία~•³>Ò
ΨΪ£ή¨>Δε|—N§>Φ.ΫΙƒ>