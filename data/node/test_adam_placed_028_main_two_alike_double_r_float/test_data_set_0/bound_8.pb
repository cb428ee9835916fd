BH1_new_capturedJ \1‡gTÄ<1Œâúóx»<ô
Ñ4'jÄ<ÕRsŸDÔ<