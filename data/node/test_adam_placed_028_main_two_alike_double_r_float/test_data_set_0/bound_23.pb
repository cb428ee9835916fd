BH2_new_twin_laterJ Yh‚WKó<Žc1æ
ã<©bæoDÚì<Ö>û2yXÔ<