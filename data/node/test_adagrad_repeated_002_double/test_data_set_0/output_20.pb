BX3_new_G_lastJ ú9&BÐ:?2c>ø¿G2Rw
õ?:…" WÜ?