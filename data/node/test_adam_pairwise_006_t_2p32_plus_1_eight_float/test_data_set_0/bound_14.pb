BV7_newJ]%ú
(g>