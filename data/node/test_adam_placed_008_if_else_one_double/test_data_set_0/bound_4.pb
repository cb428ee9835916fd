BH_new_capturedJ0¡¡
-∞I≥<«Yi£Î⁄“<Ñ"åÜ(,’<\œ©#ì∆<¨\fı∞UÃ<4)Aom`“<