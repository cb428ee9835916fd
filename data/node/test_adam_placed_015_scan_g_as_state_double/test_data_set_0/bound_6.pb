BH2_new_capturedJ ,$hK¿Û<!âÓ\/´Õ<&'P»Ø¯<ùí
ß´<