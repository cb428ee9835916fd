B
V_second_VJMj*?	©¿ƒh? eÅ¿