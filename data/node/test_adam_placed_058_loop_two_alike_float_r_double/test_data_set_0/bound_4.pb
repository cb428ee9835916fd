BH2_new_capturedJ g¦‚@$¡>u²r=t>Å|[È4K}>‰)i¢
œ>