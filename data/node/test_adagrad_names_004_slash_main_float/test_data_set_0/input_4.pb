Bvalue/G1JY2Ù¿@tñ¿Ky/¾
#›?