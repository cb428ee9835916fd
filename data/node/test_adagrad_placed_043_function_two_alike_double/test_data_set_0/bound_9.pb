BX1_new_twin_laterJ ‚¥WêÇ°<R
 NWpÇ<fâu‡Ú<ZÏæZ;Ä<