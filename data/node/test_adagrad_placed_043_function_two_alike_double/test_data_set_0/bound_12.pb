BH1_new_twin_capturedJ í5d®miâ<•ùZ°<”/ëÖÇ<)î
=™qã<