BH_new_continued_allJ ๚ฐ=
Cณ>ๅ๐ํ0mค>ล•่ÿOป>zjทI;อร>