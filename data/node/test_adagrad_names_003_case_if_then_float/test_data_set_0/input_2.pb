BaBcdefghijklmnopJ¦`“?
Ï6¿—’†½(”?