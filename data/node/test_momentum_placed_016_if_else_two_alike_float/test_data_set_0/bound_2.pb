BV2_new_capturedJ l½¹
²§w>@t:1¦nz>Ø¶Peb„”>ájÊæ˜Ž‰>