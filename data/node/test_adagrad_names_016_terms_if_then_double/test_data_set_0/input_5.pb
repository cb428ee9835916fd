Bselect_last_indexJ 
ÿVö¿@…¦»Òüà¿@+•³Ñ’Ì¿À³@»×‡Î?