BV1_new_laterJ|*;¿ª‰¿º
r?8É¾ø%¿aV«?