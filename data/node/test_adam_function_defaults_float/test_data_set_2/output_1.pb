BV_newJe÷¾¤¶><I
¿