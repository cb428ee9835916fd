BV_newJ8Гэяo#=MэћYљ
>=d¶Мaє(=Vў­уaз@=эNпЫ4b'=t­~aVv1=SЩ}¤Ю9G=