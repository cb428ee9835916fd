Bvalue:H_newJ ®¿ój%g©>^'ªq
è„>xNëÖ™>ðL=r©¢>