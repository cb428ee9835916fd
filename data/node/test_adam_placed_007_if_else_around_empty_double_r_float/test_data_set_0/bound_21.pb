BX1_new_twin_laterJ Á00ğ<¤
d‹Ã<‚jÙv-è<œYP€’í<