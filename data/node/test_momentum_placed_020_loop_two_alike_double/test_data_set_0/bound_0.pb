BX1_new_capturedJ ¨¬;VÖ<¤z^d
Ó<ú6DÁ¼<sr¨·“Û<