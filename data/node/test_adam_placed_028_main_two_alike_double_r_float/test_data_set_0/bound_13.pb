BX1_new_twin_laterJ ”Ä(œ
¹ò<úž.Öãaé<ùaË/4²ß<yç³ˆEÔÌ<