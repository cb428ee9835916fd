BV_newJ Ü_(sFe>m\ss
€>ð¡›ÿ	Î‰>Oe*µ‹‰>