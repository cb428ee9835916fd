BX_newJЌ2дР'Њw>5Ь
oуu>”hЪ>{z>