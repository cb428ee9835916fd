BX_newJ!½ıÀ¿Fu?a
J¼