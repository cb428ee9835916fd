BX_new_G_column_secondJ þ=,)€>T†‰kåª€>
@¯K"§>¨„x…d½ˆ>