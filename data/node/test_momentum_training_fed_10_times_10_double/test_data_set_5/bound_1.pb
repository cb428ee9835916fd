BX_newJгдs iТ<‰ЮMЋ@Н<	u°
З‰а<