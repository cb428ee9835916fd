B
H_negativeJ§œ=¿ÝÀ‘‹û¾Dgì¿