BH_newJ8Aб)gZ%CBо†рTЊ3BКY
Г/Њ}B‰h`кaBгТЏ‹УtBщ’I!єyBh‘зE;NhB