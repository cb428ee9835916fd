BV_new_X_secondJ0!ñ¬Ï}>z†æß±Œ>Gá>hGk>q
¯Ñ/‰>oÌž_áàˆ>ØE‘D~‚>