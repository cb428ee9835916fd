B
G_2_turnedJΈνhΎκ?•ΏÿWΊΏΣ2θ?