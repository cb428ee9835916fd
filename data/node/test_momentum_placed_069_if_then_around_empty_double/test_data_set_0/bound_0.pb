BX1_new_same_ifJ õOÄü
£<jº™U¶<Rîó#rÑ< >ÈYüÄ¶<