B
X3_scalarsJÀ]–>