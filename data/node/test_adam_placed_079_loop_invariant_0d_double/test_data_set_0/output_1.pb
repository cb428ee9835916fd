BX_new_laterJüÒD
3Tæ?