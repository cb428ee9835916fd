B
H2_scalarsJj¿@