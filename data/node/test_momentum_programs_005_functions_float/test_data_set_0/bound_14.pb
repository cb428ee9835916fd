BV_new_fresh_0J ðÃˆsÛå—>á°¹ƒÄp•>‡rga\Š>¾Ó
Gº•>