BX_newJ5I€?
E½öxa?·1=