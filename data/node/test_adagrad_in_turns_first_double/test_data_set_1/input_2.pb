BGJ v$	§ÛQù¿p¤š"ZEÛ?rOFstó?
®gv¡Çþ?