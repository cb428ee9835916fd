BX_new_G_scalar_firstJ æ rí?Zy>
|áq$m>ìºµ@ží¡>Gpm‘‚ó‚>