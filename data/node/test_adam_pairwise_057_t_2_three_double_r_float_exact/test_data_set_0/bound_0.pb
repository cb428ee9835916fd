BX1_newJ¹ZOl‰_Š;iÄƒ
š£`;