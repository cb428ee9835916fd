BX_newJiƒ3×R03ç
v²ÓæÊ²