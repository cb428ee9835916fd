BX_newJê¹
—•>