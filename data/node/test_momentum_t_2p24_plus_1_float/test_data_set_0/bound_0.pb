BX_newJ ì™]N²>D
¤€qr>×$•”>¸¥nEo>