BX_newJ  'MÚz³<BÕC¯âµ<Íd§U†„µ<>d‚
^¸<