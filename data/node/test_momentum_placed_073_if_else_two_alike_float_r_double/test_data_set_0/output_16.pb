BX1_negativeJxֻ?.;�ľ:C
?