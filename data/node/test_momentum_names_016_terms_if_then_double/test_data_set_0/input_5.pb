Bselect_last_indexJ NiLt.ð?è@`ÿê?
W†ÛºÃñ¿¼!
72”ò¿