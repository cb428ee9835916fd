BV7_newJ
Œl@