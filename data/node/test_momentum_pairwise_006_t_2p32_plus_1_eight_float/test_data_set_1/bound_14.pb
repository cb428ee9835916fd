BV7_newJõ¦
Ìô¬?