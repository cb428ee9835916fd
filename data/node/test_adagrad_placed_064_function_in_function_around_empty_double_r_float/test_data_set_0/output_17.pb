BX1_new_twin_laterJ €nr³ÀsÅ¨|®³
@É¡4¿¼¿cA÷!Ø?