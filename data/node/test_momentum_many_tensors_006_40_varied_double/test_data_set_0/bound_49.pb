BV10_newJ»D^*˜d©<
àw˜tg½<