BX1_new_twin_capturedJ i§Z@+ý?Öô‚^¥²ò¿‘_š
êç¿å±0Ð?