BX1_new_capturedJ£#Ù>”Ò±¿.g½¿
;ý>´¤?UD ¿