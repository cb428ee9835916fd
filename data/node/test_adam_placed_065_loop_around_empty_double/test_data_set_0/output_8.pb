BV1_new_sameJ °[‚p/±æ¿n'¾?å¿t…›ú¢
À?ýÂbhz½î?