BX_new_twin_later_if_loopJ`/>Kò´c@$ÁP‚´å¿à®A@Ò$Sí_üü?¨Yæxx
@&ÿdz6|@/>Kò´c@$ÁP‚´å¿à®A@Ò$Sí_üü?¨Yæxx
@&ÿdz6|@