BH4_new_twinJ‘
èªÞó?Vó\—…b@