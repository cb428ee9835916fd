BV_newJ ÷LpÜ¶•>Ç6Sß
n‚>;¤4ésx>ÑšjiÕs>