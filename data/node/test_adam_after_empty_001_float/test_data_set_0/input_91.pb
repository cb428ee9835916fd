B
V2_scalarsJÔ8R?