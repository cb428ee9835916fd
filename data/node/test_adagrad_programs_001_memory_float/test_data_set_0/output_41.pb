BH_second_attributesJP=
@_i~@YZK@Ú@