BX1_new_twin_laterJ i§Z@+ÀÖô‚^¥²@‘_š
ê÷?å±0à¿