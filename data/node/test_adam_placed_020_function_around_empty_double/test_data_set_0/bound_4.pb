BX3_new_capturedJ
ШG▀fW>а!┐дьI5>