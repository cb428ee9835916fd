BaBcDefghijklmnopJ ‚–Rj›ÃÛ¿ñG¬†ÜÁä?G‡Š/Š•›¿ÍSøR
Íæ?