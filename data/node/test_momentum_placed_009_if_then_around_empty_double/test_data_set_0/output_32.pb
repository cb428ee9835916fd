BG1_negative_ifJ ^f‘ÏG–ğ¿`qöËK
É?šE$Š<hğ?>ÌfùcŞñ?