BV_new_fresh_1J²-?CÝ?0
G?4â¾