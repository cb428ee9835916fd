BV_newJƒÛæ†vCõ?”dšz3
ó¿ÏT°Î>ú?