BX2_new_laterJ0×Ëih~@À<“HºhÝ<8þB 
ƒã<­ÛLYàÑ<”î‡
(±<†<èCêsÝ<