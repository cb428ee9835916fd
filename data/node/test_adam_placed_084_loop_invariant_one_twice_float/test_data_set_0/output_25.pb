BV2_negativeJ¶sM¿
a»wd­¾³Ý>‚ì*¼{-w¿