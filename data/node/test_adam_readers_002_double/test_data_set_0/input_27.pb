BG_stateJ0¬Z
×}ê¿’µÜµ}lû¿ °„×óví¿xGHjˆÒ?ö‹˜íI"õ¿0\ƒDCIù¿