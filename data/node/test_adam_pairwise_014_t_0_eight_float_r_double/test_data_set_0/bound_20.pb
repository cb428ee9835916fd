BH5_newJ(j
;° Ã AWs¶a£‰Aÿ15[(AJ èÄó@ÞÎå.h"A