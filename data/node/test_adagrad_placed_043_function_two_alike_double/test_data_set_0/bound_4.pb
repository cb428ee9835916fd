BH1_new_capturedJ í5d®miâ<•ùZ°<”/ëÖÇ<)î
=™qã<