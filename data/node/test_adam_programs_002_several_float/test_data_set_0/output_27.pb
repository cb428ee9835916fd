BX_new_made_4JAฏิ?Gๅ?ใ
ฟ?