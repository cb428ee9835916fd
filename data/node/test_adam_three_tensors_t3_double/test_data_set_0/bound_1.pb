BX2_newJ]tR×ò_F>ºékÏÁkG>ÇÀL
ýZ>