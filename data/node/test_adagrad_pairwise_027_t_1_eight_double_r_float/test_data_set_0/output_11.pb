BH4_newJ Yф▐▓O+┴BjkBhж
█BД⌡╪╬czBоз^Яo≈B