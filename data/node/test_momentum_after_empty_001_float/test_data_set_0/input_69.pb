B
G4_scalarsJÑhö?cˆè?ÇC?