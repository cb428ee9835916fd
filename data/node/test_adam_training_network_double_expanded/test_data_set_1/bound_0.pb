BlossJ
Ιbας<