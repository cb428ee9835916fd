BH_new_shared_twice_1J N7¡ú·¨>[S+\]í£>Ð.ò?B
>&É2È<·>