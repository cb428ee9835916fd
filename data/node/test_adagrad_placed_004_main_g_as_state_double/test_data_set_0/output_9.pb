BX1_new_twin_laterJ îÆÙîS¹
@xw,©{ø¿+CDÕš¦°?p…÷şı¿