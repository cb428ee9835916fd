BH2_new_twin_laterJ0ˆkI>¦ג¸>
+¼װן™>73חתֳ-¬>צVb¸÷ֱ>o]—N>8o±P¥¨>