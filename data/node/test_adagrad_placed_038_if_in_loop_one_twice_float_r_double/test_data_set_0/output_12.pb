BX1_negative_if_loopJ0
G$¿w„?ëâÙ?³ö>ÛMl¿œ›Á?
G$¿w„?ëâÙ?³ö>ÛMl¿œ›Á?