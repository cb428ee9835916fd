B
H3_scalarsJº¨ù?