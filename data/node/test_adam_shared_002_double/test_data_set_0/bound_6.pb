BX_new_XVJ äÐcâ¿0R>
¹ÐQP>>cQ¸¯P>Yû<•Wõ=