BH_new_negativeJ0\ºp‡1¡>ºÞ7è¸³>ø bUt,«>to)e¬N¢>_”
z[1š>È]™ z›>