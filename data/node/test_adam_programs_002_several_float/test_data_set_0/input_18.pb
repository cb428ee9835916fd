B
V_beside_XJŸX?·®Æ=jÓ4¿–¼Î¾