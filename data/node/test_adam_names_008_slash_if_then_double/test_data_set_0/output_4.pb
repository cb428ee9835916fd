Bvalue/H1_new_ifJ ‹-šsÌæ?É2hE;Fþ?·¬:ó‰³ñ?Ò›V
PFû?