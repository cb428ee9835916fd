BX_new_G_row_firstJ ьWз—Є>vятыћЫЅ>+%AР
К >ѓ€fµЉ	Ґ>