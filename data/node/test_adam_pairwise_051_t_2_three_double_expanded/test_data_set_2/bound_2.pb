BX3_newJ‡¤YAb‹<›
n¬ÚÚ“<7Ž%GAº<