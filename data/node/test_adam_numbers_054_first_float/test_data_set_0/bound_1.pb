BV_newJ ¸*`
!‚>&òì¸s>Špå’Œlƒ>¼IÿMtl>