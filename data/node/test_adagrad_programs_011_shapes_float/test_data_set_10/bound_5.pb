BH_chosenJ ֽy
Oֵ²>3סרkU‰>