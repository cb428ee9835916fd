BX_newJ ¥Ú{SÊBÓ±Á.
§ÈBÿgüh>”BÉ…£µ«B