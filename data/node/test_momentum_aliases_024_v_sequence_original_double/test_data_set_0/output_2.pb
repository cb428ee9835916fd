BV_other_negativeJ Ю*BТR▓║?√#'хиО©■╧
Эш©┬О╛У╠ш©