BX2_new_capturedJ à¦Ë9ú™É<I§Ú¿JãÒ<
zýÜŒª<ÊHB|!z·<