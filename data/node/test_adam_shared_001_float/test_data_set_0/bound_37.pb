B
V_new_XGVHJ @Fáœñ=¯>á’¨a“¢>(TFJÉ¯>rs5Ml¢>