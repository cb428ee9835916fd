BX_new_G_secondJ3é{?
Û~¾ç²¿aC¥¿´­R?qéu¿