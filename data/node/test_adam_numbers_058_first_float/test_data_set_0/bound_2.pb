BH_newJ Çï*$QR˜>½
uV"¯>4"¨1“@§>e˜pD¢>