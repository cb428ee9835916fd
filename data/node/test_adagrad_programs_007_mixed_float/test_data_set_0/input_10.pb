B
G_double_1J  ╫F│5И©Х4избRХ?8╣r╩jЙ?d≤B└╖\Г©