BH_secondJP=
@_i~@YZK@Ú@