BX_newJ—có
á_E>‹­Óú1’D>À6©BÂ2G>