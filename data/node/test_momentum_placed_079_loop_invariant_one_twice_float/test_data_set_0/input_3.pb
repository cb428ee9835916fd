BG2_rearrangedJz"¿Ñ
+¿5X¿•ı¿R÷k?îöş¿