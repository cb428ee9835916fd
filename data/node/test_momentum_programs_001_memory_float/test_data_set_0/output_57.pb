B
V_second_GJ¾3Ò½ª¿cZI¾¹
?