BX_newJp•™
Å<