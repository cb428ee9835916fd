BX_newJ.
î6q>€*‘ePs>æAæ¹¼8q>