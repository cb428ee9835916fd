BH2_new_twin_atJ ·Ö·ŒV€
@ÓdÚI!÷?"µ w,ó?«J!Øîø?